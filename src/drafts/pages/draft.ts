import type { PublisherContext } from '../../catalog/pages.ts';
import { mayApprove } from '../../catalog-admin/approval.ts';
import type { View } from '../../management/resource.ts';
import { etagOf } from '../../management/rows.ts';
import type { Actor } from '../../management/unit-of-work.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, card, descriptionList, notice, saveForm } from '../../shell/components.ts';
import type { FieldErrors } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { Difference } from '../apply.ts';
import { changesTable, differencesTable, preview } from '../comparison.ts';
import type { Draft } from '../draft.ts';
import { draftNotice, kindText, stateBadge } from '../views.ts';

export type DraftView = {
  draft: Draft;
  /** Current row, or null if it does not exist yet or was deleted. */
  current: View | null;
  actor: Actor;
  /** Fields that were changed after the draft was created. Set if an approval failed because of them. */
  differences?: readonly Difference[];
  errors?: FieldErrors;
  typed?: Readonly<Record<string, string>>;
};

/** Renders the page of a draft: its changes, a preview, and the available actions. */
export function draftPage(context: PublisherContext, view: DraftView): Page {
  const { draft, differences = [], errors = [] } = view;
  const path = context.path(`/drafts/${draft.id}`);
  return {
    title: draft.subject || `#${draft.id}`,
    lead: html`${kindText(draft)} ${stateBadge(draft.state)}`,
    nav: 'drafts',
    trail: [{ text: t('nav.drafts'), href: context.path('/drafts') }],
    status: errors.length > 0 ? 422 : differences.length > 0 ? 409 : 200,
    body: html`
      ${draft.reason !== '' && notice(draft.state === 'refused' ? 'failed' : 'warn', html`<p>${draft.reason}</p>`)}
      ${differences.length > 0 && conflictCard(context, path, differences, view)}
      ${draftNotice(draft)}
      ${card(t('drafts.changes'), changesTable(draft, context.publisher))}
      ${preview(draft, view.current, draft.has_picture ? `${path}/picture` : '')}
      ${factsCard(context, draft)}
      ${decisionCards(context, path, view)}`,
  };
}

function factsCard(context: PublisherContext, draft: Draft): Html {
  const { note, proposed_by, created_at, decided_by, decided_at, live_at, campaign_id } = draft;
  const at = (time: string): Html => html`${moment(context.publisher, new Date(time), 'minute')}`;
  return card(
    t('drafts.about'),
    descriptionList([
      [t('drafts.proposedBy'), html`${proposed_by}, ${at(created_at)}`],
      ...(note === '' ? [] : ([[t('drafts.note'), note]] as const)),
      ...(decided_by === null || decided_at === null
        ? []
        : ([[t('drafts.decidedBy'), html`${decided_by}, ${at(decided_at)}`]] as const)),
      ...(live_at === null ? [] : ([[t('drafts.liveAt'), at(live_at)]] as const)),
      [t('dimensions.campaign'), html`<a href="${context.path(`/campaigns/${campaign_id}`)}">#${campaign_id}</a>`],
    ]),
  );
}

const conflictCard = (
  context: PublisherContext,
  path: string,
  differences: readonly Difference[],
  { current, typed = {} }: DraftView,
): Html => html`
  ${notice('failed', html`<p>${t('drafts.changedMeanwhile')}</p>`)}
  ${card(
    t('crud.differences'),
    html`${differencesTable(differences, context.publisher)}
      ${
        current !== null &&
        actionButton(context, {
          to: `${path}/approve`,
          text: t('drafts.approveAnyway'),
          kind: 'danger',
          values: { row_etag: etagOf(current), live_at: typed.live_at ?? '' },
        })
      }`,
  )}`;

function decisionCards(context: PublisherContext, path: string, { draft, actor, errors, typed = {} }: DraftView): Html {
  const decides = mayApprove(actor);
  const isOpen = draft.state === 'waiting' || draft.state === 'scheduled';
  const form = createForm(typed, errors);
  const zone = context.publisher.timeZone;
  const approval = html`${form.input('live_at', {
    label: t('drafts.liveAt'),
    type: 'datetime-local',
    hint: t('drafts.liveAtHint', { zone }),
  })}`;
  const reason = html`${form.textarea('reason', { label: t('drafts.reason'), hint: t('drafts.reasonHint') })}`;
  return html`
    ${
      decides &&
      isOpen &&
      html`<div class="columns wide">
        ${card(
          t('drafts.approve'),
          saveForm(context, `${path}/approve`, approval, { button: t('drafts.approve'), page: path }),
        )}
        ${card(
          t('drafts.refuse'),
          saveForm(context, `${path}/refuse`, reason, { button: t('drafts.refuse'), page: path }),
        )}
      </div>`
    }
    <div class="actions">
      ${isOpen && actionButton(context, { to: `${path}/withdraw`, text: t('drafts.withdraw'), kind: 'quiet' })}
      ${
        decides &&
        (draft.state === 'live' || draft.state === 'refused' || draft.state === 'scheduled') &&
        actionButton(context, { to: `${path}/undo`, text: t('common.undo'), kind: 'quiet' })
      }
    </div>`;
}
