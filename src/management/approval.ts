import { AppError } from '../platform/errors.ts';
import type { Values } from './resource.ts';

/** A picture that was handed in, checked and measured (pixels). */
export type HandedIn = { bytes: Buffer; type: string; size: { width: number; height: number } };

/** What would have been saved: `rowId` null, a new row. `picture`: of a new creative, or the first of a new offer. */
export type Proposal = { resource: string; rowId: number | null; changes: Values; note?: string; picture?: HandedIn };

/** The publisher approves such changes before they are live: what was to be saved can be proposed as a draft. */
export class ApprovalRequired extends AppError {
  readonly proposal: Proposal;
  constructor(proposal: Proposal) {
    super('approval_required');
    this.proposal = proposal;
  }
}

/** For `catch`: what needs approval is proposed with its picture. */
export const withPicture =
  (picture: HandedIn) =>
  (err: unknown): never => {
    throw err instanceof ApprovalRequired ? new ApprovalRequired({ ...err.proposal, picture }) : err;
  };
