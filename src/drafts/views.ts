import { type Html, nothing } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { badge, fieldWarning, type Tone, warningNotice } from '../shell/components.ts';
import { type Draft, type DraftState, warnOfDraft } from './draft.ts';

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

/** Returns a label for the kind of draft, such as "New offer" or "Campaign". */
export const kindText = ({ resource, base }: Draft): string =>
  Object.keys(base).length === 0 ? t('crud.new', { noun: t(kindTexts[resource]) }) : t(kindTexts[resource]);

/** Renders a notice about macros in a draft's URLs. Empty if the draft was rejected or withdrawn. */
export const draftNotice = (draft: Draft): Html =>
  draft.state === 'refused' || draft.state === 'withdrawn'
    ? nothing
    : warningNotice(warnOfDraft(draft), ({ path, message }) =>
        fieldWarning({ path: path.replace(/^\/changes/, ''), message }),
      );
