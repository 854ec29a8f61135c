/** Refuses to pack what is not built: a package without `dist/` would install, and have no module. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('../dist/index.js', import.meta.url));
if (!existsSync(entry)) {
  console.error('the package is not built: run "npm run build" first');
  process.exitCode = 1;
}
