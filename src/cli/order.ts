/** What a command line asks for: one command, with its options read and checked. */
import type {
  AnswerOptions,
  CheckOptions,
  ResumeOptions,
  RunOptions,
  SessionsOptions,
  ShowOptions,
} from './options.ts';

export type Order =
  /** Help, or the version: there is nothing more to do than to say it. */
  | { readonly command: 'print'; readonly text: string }
  | { readonly command: 'run'; readonly options: RunOptions }
  | { readonly command: 'sessions'; readonly options: SessionsOptions }
  | { readonly command: 'show'; readonly options: ShowOptions }
  | { readonly command: 'resume'; readonly options: ResumeOptions }
  | { readonly command: 'answer'; readonly options: AnswerOptions }
  | { readonly command: 'check'; readonly options: CheckOptions };

/** Takes the order that a command line turned out to be. */
export type Choose = (order: Order) => void;
