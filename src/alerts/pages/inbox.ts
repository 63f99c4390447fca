import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { actionButton, badge, card, emptyState, link, strongLink } from '../../shell/components.ts';
import { hasRole } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import type { AlertText } from '../describe.ts';
import type { InboxAlert } from '../inbox.ts';

type DescribedAlert = InboxAlert & AlertText;

const good: readonly string[] = ['endpoint.recovered'];

/** Renders the card with the newest alerts, each with its reason, a link to the related page and a mute button. */
export function inboxCard(context: PublisherContext, alerts: readonly DescribedAlert[], muteDays: number): Html {
  if (alerts.length === 0) return emptyState('alerts', t('alerts.none'), t('alerts.noneText'));
  const unread = alerts.filter(({ isNew }) => isNew).length;
  const read =
    unread > 0 &&
    actionButton(context, {
      to: context.path('/alerts/read'),
      text: t('alerts.markAllRead'),
      small: true,
      values: { until: alerts[0]?.id ?? 0 },
    });
  return card(
    t('alerts.inbox'),
    html`<ul class="stream">${alerts.map((alert) => item(context, alert, muteDays))}</ul>`,
    {
      lead: unread === 0 ? t('alerts.noneNew') : t('alerts.countNew', { count: unread }),
      actions: html`${read}`,
    },
  );
}

function item(context: PublisherContext, alert: DescribedAlert, muteDays: number): Html {
  const { publisher, path } = context;
  const { title, reason, raisedAt, isNew, mutedUntil, fix } = alert;
  return html`
    <li class="alert" id="alert-${alert.id}">
      ${isNew ? badge(t('alerts.new'), 'info') : nothing}
      <span class="alert-text">
        ${strongLink(path(alert.path), title)}
        <span>${reason}</span>
        ${fix !== undefined && html`<span>${fix.text} ${link(path(fix.path), fix.link)}</span>`}
      </span>
      ${stateBadge(alert)}
      ${moment(publisher, raisedAt)}
      ${muteButton(context, alert, mutedUntil, muteDays)}
    </li>`;
}

function stateBadge({ kind, endedAt }: DescribedAlert): Html {
  if (good.includes(kind)) return badge(t('alerts.recovered'), 'good');
  return endedAt === null ? nothing : badge(t('alerts.over'), 'good');
}

function muteButton(context: PublisherContext, { id, title }: DescribedAlert, until: Date | null, days: number): Html {
  const isMuted = until !== null;
  if (!hasRole(context.viewer.user.role, 'manager')) return isMuted ? badge(t('alerts.muted')) : nothing;
  return actionButton(context, {
    to: context.path(`/alerts/${id}/mute`),
    text: isMuted ? t('alerts.unmute') : t('alerts.mute', { days }),
    small: true,
    values: { mute: isMuted ? 'no' : 'yes' },
    ...(!isMuted && { confirm: t('alerts.muteConfirm', { days, title }) }),
  });
}
