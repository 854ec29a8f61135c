/** Bundles the report and the studio, after the compiler has run. */
import { buildReport, buildStudio } from './pages.ts';

await Promise.all([buildReport(), buildStudio()]);
