import type { AccountDeps } from '../../accounts/ports.ts';
import type { Shell } from '../../shell/layout.ts';
import type { CountPerkStages } from '../perk-stages.ts';

/** What the pages of reports are made with. */
export type PageServices = Shell & { deps: AccountDeps; perkStages: () => CountPerkStages | null };
