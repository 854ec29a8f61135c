/** A style sheet as text, as the build puts it in. */
declare module '*.css?inline' {
  const text: string;
  export default text;
}
