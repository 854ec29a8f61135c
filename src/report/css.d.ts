/** A style sheet that the build puts beside the script. */
declare module '*.css' {}

/** A style sheet as text, as the build puts it in. */
declare module '*.css?inline' {
  const text: string;
  export default text;
}
