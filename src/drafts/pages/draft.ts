import type { PublisherContext } from '../../catalog/pages.ts';
import type { Offer } from '../../catalog/types.ts';
import { mayApprove } from '../../catalog-admin/approval.ts';
import { etagOf } from '../../management/rows.ts';
import type { Actor } from '../../management/unit-of-work.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, card, descriptionList, link, linkButton, notice, saveForm } from '../../shell/components.ts';
import { type FieldErrors, hasRole } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm, moreFields } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { Difference } from '../apply.ts';
import { changesTable, differencesTable, draftPreview } from '../comparison.ts';
import { type DraftDetails, nameKey } from '../details.ts';
import { draftNotice, kindText, reasonNotices, stateBadge, waitingText, withPreview } from '../views.ts';
import { isRevisable } from './revise.ts';

export type DraftView = DraftDetails & {
  actor: Actor;
  nowMs: number;
  publicUrl: string;
  /** Live offer of the draft, or undefined if it does not exist or is not served. */
  offer: Offer | undefined;
  /** Fields that were changed after the draft was created. Set if an approval failed because of them. */
  differences?: readonly Difference[];
  errors?: FieldErrors;
  typed?: Readonly<Record<string, string>>;
};

/** Renders the page of a draft: its changes, a preview, and the available actions. */
export function draftPage(context: PublisherContext, view: DraftView): Page {
  const { draft, differences = [], errors = [] } = view;
  const path = context.path(`/drafts/${draft.id}`);
  const { publisher } = context;
  const imageUrl = draft.has_picture ? `${path}/picture` : '';
  return {
    title: draft.subject || `#${draft.id}`,
    lead: html`${kindText(draft)} ${stateBadge(draft.state)} ${waitingText(draft, view.nowMs)}`,
    nav: 'drafts',
    trail: [{ text: t('nav.drafts'), href: context.path('/drafts') }],
    status: errors.length > 0 ? 422 : differences.length > 0 ? 409 : 200,
    assets: ['preview.js'],
    ...(isRevisable(view) &&
      hasRole(context.viewer.user.role, 'manager') && {
        actions: linkButton(`${path}/edit`, t('drafts.revise'), draft.state === 'refused' ? 'main' : ''),
      }),
    body: html`
      ${reasonNotices(view, (id) => context.path(`/drafts/${id}`))}
      ${differences.length > 0 && conflictCard(context, path, differences, view)}
      ${draftNotice(draft)}
      ${withPreview(
        html`
          ${card(t('drafts.changes'), changesTable({ ...view, imageUrl, zone: publisher }))}
          ${factsCard(context, view)}
          ${decisionCards(context, path, view)}`,
        draftPreview(view, { ...view, publisher, imageUrl, frameUrl: context.path('/preview') }),
      )}`,
  };
}

function factsCard(context: PublisherContext, { draft, names }: DraftDetails): Html {
  const { note, proposed_by, created_at, decided_by, decided_at, live_at, campaign_id } = draft;
  const campaignName = names.get(nameKey('campaign_id', campaign_id)) ?? `#${campaign_id}`;
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
      [t('dimensions.campaign'), link(context.path(`/campaigns/${campaign_id}`), campaignName)],
    ]),
  );
}

const conflictCard = (
  context: PublisherContext,
  path: string,
  differences: readonly Difference[],
  view: DraftView,
): Html => html`
  ${notice('failed', html`<p>${t('drafts.changedMeanwhile')}</p>`)}
  ${card(
    t('crud.differences'),
    html`${differencesTable(differences, { zone: context.publisher, names: view.names })}
      ${
        view.current !== null &&
        actionButton(context, {
          to: `${path}/approve`,
          text: t('drafts.approveAnyway'),
          kind: 'danger',
          values: {
            row_etag: etagOf(view.current),
            live_at: view.typed?.live_at ?? '',
            comment: view.typed?.comment ?? '',
          },
        })
      }`,
  )}`;

function decisionCards(context: PublisherContext, path: string, view: DraftView): Html {
  const { draft, actor, errors, typed = {} } = view;
  const isRevised = view.revisionId !== null;
  const decides = mayApprove(actor);
  const isOpen = draft.state === 'waiting' || draft.state === 'scheduled';
  const form = createForm(typed, errors);
  const zone = context.publisher.timeZone;
  // Refuse the draft of an advertiser instead of withdrawing it, because the advertiser then reads the reason.
  const isOwn = draft.advertiser_id === null;
  const liveAt = form.input('live_at', {
    label: t('drafts.liveAt'),
    type: 'datetime-local',
    hint: t('drafts.liveAtHint', { zone }),
  });
  const approval = html`
    ${form.textarea('comment', { label: t('drafts.comment'), rows: 2, hint: t('drafts.commentHint') })}
    ${moreFields(t('drafts.later'), liveAt, { isOpen: (typed.live_at ?? '') !== '' })}`;
  const reason = form.textarea('reason', {
    label: t('drafts.reason'),
    hint: t('drafts.reasonHint'),
    required: true,
  });
  return html`
    ${form.summary()}
    ${
      decides &&
      isOpen &&
      html`<div class="columns wide">
        ${card(
          t('drafts.approveTitle'),
          saveForm(context, `${path}/approve`, approval, { button: t('drafts.approve'), page: path }),
        )}
        ${card(
          t('drafts.refuseTitle'),
          saveForm(context, `${path}/refuse`, reason, { button: t('drafts.refuse'), kind: 'danger', page: path }),
        )}
      </div>`
    }
    <div class="actions">
      ${isOwn && isOpen && actionButton(context, { to: `${path}/withdraw`, text: t('drafts.withdraw'), kind: 'quiet' })}
      ${
        decides &&
        (draft.state === 'live' || draft.state === 'scheduled' || (draft.state === 'refused' && !isRevised)) &&
        actionButton(context, { to: `${path}/undo`, text: t('common.undo'), kind: 'quiet' })
      }
    </div>`;
}
