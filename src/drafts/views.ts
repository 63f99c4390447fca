import { type Html, html, nothing } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { dayMs, hourMs, minuteMs } from '../platform/lib/time.ts';
import { badge, fieldWarning, link, notice, type Tone, warningNotice } from '../shell/components.ts';
import type { DraftDetails } from './details.ts';
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

/** Renders for how long a draft has been waiting, such as "waiting for 3 days". Empty for other drafts. */
export function waitingText({ state, created_at }: Draft, nowMs: number): Html | string {
  if (state !== 'waiting') return '';
  const ageMs = Math.max(0, nowMs - Date.parse(created_at));
  const unit = ageMs < hourMs ? 'minute' : ageMs < dayMs ? 'hour' : 'day';
  const count = Math.floor(ageMs / { minute: minuteMs, hour: hourMs, day: dayMs }[unit]);
  return html`<span class="hint">${t('drafts.waitingFor', { unit, count })}</span>`;
}

/** Renders the parts of a draft page next to the preview, if there is one. */
export const withPreview = (body: Html, preview: Html): Html =>
  preview === nothing ? body : html`<div class="split"><div>${body}</div>${preview}</div>`;

/** Label above the reason of a decision. */
const reasonLabels: Partial<Record<DraftState, MessageKey>> = {
  refused: 'drafts.refusedBecause',
  live: 'drafts.approvedWith',
  scheduled: 'drafts.approvedWith',
};

/** Renders the reason of a decision, or why the draft waits again, and links to the drafts before and after it. */
export function reasonNotices({ draft, revised, revisionId }: DraftDetails, hrefOf: (id: number) => string): Html {
  const { state, reason } = draft;
  const label = reasonLabels[state];
  return html`
    ${
      reason !== '' &&
      notice(
        state === 'refused' ? 'failed' : label === undefined ? 'warn' : 'info',
        html`
          ${label !== undefined && html`<p><strong>${t(label)}</strong></p>`}
          <p class="lines">${reason}</p>`,
      )
    }
    ${
      revisionId !== null &&
      notice('info', html`<p>${link(hrefOf(revisionId), t('drafts.revisedAs', { id: String(revisionId) }))}</p>`)
    }
    ${
      revised !== null &&
      notice(
        'info',
        html`
          <p>${link(hrefOf(revised.id), t('drafts.revises', { id: String(revised.id), state: revised.state }))}</p>
          ${revised.reason !== '' && html`<p class="lines">${revised.reason}</p>`}`,
      )
    }`;
}

/** Renders a notice about macros in a draft's URLs. Empty if the draft was rejected or withdrawn. */
export const draftNotice = (draft: Draft): Html =>
  draft.state === 'refused' || draft.state === 'withdrawn'
    ? nothing
    : warningNotice(warnOfDraft(draft), ({ path, message }) =>
        fieldWarning({ path: path.replace(/^\/changes/, ''), message }),
      );
