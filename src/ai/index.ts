/** `looprig/ai`: tools written for AI SDK in a loop, tools of a loop in AI SDK, and turns on a page that uses `useChat`. Needs the package `ai`, version 7. */

export type { PageAnswer } from './approvals.ts';
export { answersFrom } from './approvals.ts';
export type { ChatStreamOptions } from './chat.ts';
export { chatStream } from './chat.ts';
export type { FromAISDKOptions } from './from-ai-sdk.ts';
export { fromAISDK } from './from-ai-sdk.ts';
export type { OutputParts } from './output-value.ts';
export type { ToAISDKOptions } from './to-ai-sdk.ts';
export { toAISDK } from './to-ai-sdk.ts';
export { toUIMessages } from './ui-messages.ts';
export type { ToldSession, ToldTurn, TurnMetadata, UIMessageStreamOptions } from './ui-stream.ts';
export { toUIMessageStream } from './ui-stream.ts';
