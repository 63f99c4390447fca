import type { Html } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { badge, type Tone } from '../shell/components.ts';
import type { Draft, DraftState } from './draft.ts';

export const stateTexts: Readonly<Record<DraftState, [MessageKey, Tone]>> = {
  waiting: ['drafts.waiting', 'warn'],
  scheduled: ['drafts.scheduled', 'info'],
  live: ['drafts.live', 'good'],
  refused: ['drafts.refused', 'bad'],
  withdrawn: ['drafts.withdrawn', 'plain'],
  undone: ['drafts.undone', 'plain'],
};

export function stateBadge(state: DraftState): Html {
  const [text, tone] = stateTexts[state];
  return badge(t(text), tone);
}

const kindTexts: Readonly<Record<Draft['resource'], MessageKey>> = {
  offers: 'dimensions.offer',
  creatives: 'drafts.creative',
  campaigns: 'dimensions.campaign',
};

/** What a draft is of, such as "New offer" or "Campaign". */
export const kindText = ({ resource, base }: Draft): string =>
  Object.keys(base).length === 0 ? t('crud.new', { noun: t(kindTexts[resource]) }) : t(kindTexts[resource]);
