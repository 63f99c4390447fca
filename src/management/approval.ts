import { AppError } from '../platform/errors.ts';
import type { Values } from './resource.ts';

/** An uploaded picture, validated and measured (pixels). */
export type HandedIn = { bytes: Buffer; type: string; size: { width: number; height: number } };

/**
 * A proposed change; `rowId` is null for a new row. `picture` is that of a new creative, or the first one of a new
 * offer.
 */
export type Proposal = { resource: string; rowId: number | null; changes: Values; note?: string; picture?: HandedIn };

/** The publisher requires approval of such changes before they go live. They can be proposed as a draft. */
export class ApprovalRequired extends AppError {
  readonly proposal: Proposal;
  constructor(proposal: Proposal) {
    super('approval_required');
    this.proposal = proposal;
  }
}

/** Handler for `catch` that adds the picture to a proposal. */
export const withPicture =
  (picture: HandedIn) =>
  (err: unknown): never => {
    throw err instanceof ApprovalRequired ? new ApprovalRequired({ ...err.proposal, picture }) : err;
  };
