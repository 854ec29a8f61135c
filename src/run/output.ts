/** How the final answer of a loop with an output schema is asked for and checked. */
import type { ResolvedSchema } from '../define/schema.ts';
import type { ModelTool } from '../model/model.ts';

/** The schema of the final answer, and the control tool by which a model gives it. */
export interface OutputContract {
  readonly schema: ResolvedSchema;
  readonly controlTool: ModelTool;
}
