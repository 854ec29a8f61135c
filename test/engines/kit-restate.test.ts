import { HAS_POSTGRES } from '../support/postgres-server.ts';
import { HAS_RESTATE, RESTATE_LEFT_OUT } from '../support/restate-server.ts';
import { describeEngine } from './kit.ts';
import { restateLab } from './labs.ts';

describeEngine(`the engine on Restate is an engine${RESTATE_LEFT_OUT}:`, HAS_RESTATE && HAS_POSTGRES, restateLab, 2);
