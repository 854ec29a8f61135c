/** What a command line asks for: one command, with its options read and checked. */
import type {
  AnswerOptions,
  ChatOptions,
  CheckOptions,
  DeleteOptions,
  InitOptions,
  ReportOptions,
  ResumeOptions,
  RunOptions,
  ServeOptions,
  SessionsOptions,
  Shell,
  ShowOptions,
  WorkerOptions,
} from './options.ts';

export type Order =
  /** Help, or the version: there is nothing more to do than to say it. */
  | { readonly command: 'print'; readonly text: string }
  | { readonly command: 'run'; readonly options: RunOptions }
  | { readonly command: 'chat'; readonly options: ChatOptions }
  | { readonly command: 'sessions'; readonly options: SessionsOptions }
  | { readonly command: 'show'; readonly options: ShowOptions }
  | { readonly command: 'resume'; readonly options: ResumeOptions }
  | { readonly command: 'answer'; readonly options: AnswerOptions }
  | { readonly command: 'delete'; readonly options: DeleteOptions }
  | { readonly command: 'report'; readonly options: ReportOptions }
  | { readonly command: 'serve'; readonly options: ServeOptions }
  | { readonly command: 'worker'; readonly options: WorkerOptions }
  | { readonly command: 'check'; readonly options: CheckOptions }
  | { readonly command: 'init'; readonly options: InitOptions }
  | { readonly command: 'completion'; readonly options: { readonly shell: Shell } }
  | { readonly command: 'complete-sessions'; readonly options: { readonly words: readonly string[] } };

/** Takes the order that a command line turned out to be. */
export type Choose = (order: Order) => void;
