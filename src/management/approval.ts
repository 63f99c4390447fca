import { AppError } from '../platform/errors.ts';
import type { Values } from './resource.ts';

/** Uploaded image that has been validated, with its size in pixels. */
export type HandedIn = { bytes: Buffer; type: string; size: { width: number; height: number } };

/**
 * Proposed change. `rowId` is null for a new row. `image` is the image of a new creative, or the first image of a new
 * offer. `revises` is the ID of the refused or waiting draft that the proposal replaces. The proposal takes over the
 * image of that draft, unless it has its own.
 */
export type Proposal = {
  resource: string;
  rowId: number | null;
  changes: Values;
  note?: string;
  image?: HandedIn;
  revises?: number;
};

/**
 * Thrown if the publisher requires approval before such changes go live. The changes can be saved as a draft instead.
 */
export class ApprovalRequired extends AppError {
  readonly proposal: Proposal;
  constructor(proposal: Proposal) {
    super('approval_required');
    this.proposal = proposal;
  }
}

/** Returns a `catch` handler that attaches the uploaded image to a proposal. */
export const withImage =
  (image: HandedIn) =>
  (err: unknown): never => {
    throw err instanceof ApprovalRequired ? new ApprovalRequired({ ...err.proposal, image }) : err;
  };
