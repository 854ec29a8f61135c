/** `looprig/store`: what a store of one's own needs. Records and mails as text, and back without loss, and what each store asks of an append. */
export { requireGapFree } from './gap-free.ts';
export { deletedMeanwhile, invalidPlace } from './journal.ts';
export { mailOfText, recordsOfText, textOfMail, textOfRecords } from './stored-text.ts';
