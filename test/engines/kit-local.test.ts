import { describeEngine } from './kit.ts';
import { localLab } from './labs.ts';

describeEngine('the engine of one process is an engine:', true, localLab, 1);
