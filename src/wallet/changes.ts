import type { Executor } from '../db/pool.ts';
import type { WalletItem } from './items.ts';

/** A change of a wallet; a repeat that changes nothing is none. */
export type WalletChange = { event: 'offer_saved' | 'offer_removed'; item: WalletItem; atMs: number };

/**
 * Called once for each change, in the transaction that makes it, so that what is written here is committed with the change or
 * not at all. Nobody is told of changes yet.
 */
export async function announceChange(_executor: Executor, _change: WalletChange): Promise<void> {}
