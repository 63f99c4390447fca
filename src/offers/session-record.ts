import type { Offer } from '../catalog/types.ts';
import type { DecidedOffer } from '../decision/types.ts';
import type { DecisionRecord } from './decision-log/decision-record.ts';
import type { ClientContext } from './fetch/pending-fetch.ts';
import type { MacroValues } from './macros.ts';

/** A fetch that was answered. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  userKey: string | null;
  pubUserId: string | null;
  client: Pick<ClientContext, 'country' | 'device' | 'os'>;
  offers: readonly Offer[];
  /** Why no offer is shown; null when one is. */
  emptyReason: string | null;
  decision: DecisionRecord;
  /** The publisher's own attributes. */
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

/** A session as it was decided: its offers with what the decision says about them. */
export type DecidedSession = SessionRecord & { decided: readonly DecidedOffer[] };
