import { AppError } from '../platform/errors.ts';
import type { Values } from './resource.ts';

/** What would have been saved: `rowId` null, a new row. `picture`: the bytes of one that was handed in. */
export type Proposal = { resource: string; rowId: number | null; changes: Values; note?: string; picture?: Buffer };

/** The publisher approves such changes before they are live: what was to be saved can be proposed as a draft. */
export class ApprovalRequired extends AppError {
  readonly proposal: Proposal;
  constructor(proposal: Proposal) {
    super('approval_required');
    this.proposal = proposal;
  }
}
