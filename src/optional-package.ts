/** Packages that only those install who use what needs them. Each is loaded when it is first needed. */

/**
 * What `bring` imports. Where the package is not installed, throws what `refuse` makes of a sentence that says how to install it. `who` needs it;
 * `install` is its name with the version that fits, as `npm install` takes it.
 */
export async function optionalPackage<Package>(
  who: string,
  install: string,
  bring: () => Promise<Package>,
  refuse: (message: string, options: { readonly cause: unknown }) => Error,
): Promise<Package> {
  try {
    return await bring();
  } catch (cause) {
    if (Reflect.get(Object(cause), 'code') !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const name = install.slice(0, install.lastIndexOf('@'));
    throw refuse(`${who} needs the package ${name}, which is not installed: npm install ${install}`, { cause });
  }
}
