import { HAS_POSTGRES, POSTGRES_LEFT_OUT } from '../support/postgres-server.ts';
import { describeEngine } from './kit.ts';
import { pgBossLab } from './labs.ts';

describeEngine(`the engine on pg-boss is an engine${POSTGRES_LEFT_OUT}:`, HAS_POSTGRES, pgBossLab, 2);
