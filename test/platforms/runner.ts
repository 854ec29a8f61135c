/** The program that a runtime plays the checks with. Writes what became of each, as JSON, into the file that it is given. */
import { writeFileSync } from 'node:fs';
import { play } from './check.ts';
import { WEB_CHECKS } from './checks.ts';
import { SYSTEM_CHECKS } from './system-checks.ts';

const [, , file = ''] = process.argv;
writeFileSync(file, JSON.stringify(await play([...WEB_CHECKS, ...SYSTEM_CHECKS])));
process.exit(0); // a check that hangs has been told, and keeps nobody
