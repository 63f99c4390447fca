import type { AlertText } from '../../../alerts/describe.ts';
import type { InboxAlert } from '../../../alerts/inbox.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { hasRole } from '../../auth/users.ts';
import { actionButton } from '../../shell/actions.ts';
import { badge, card, emptyState, strongLink } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';

type Shown = InboxAlert & AlertText;

const good: readonly string[] = ['endpoint.recovered'];

/** The newest alerts, each with its reason, the page to look at, and a mute. */
export function inboxCard(context: PublisherContext, alerts: readonly Shown[], muteDays: number): Html {
  if (alerts.length === 0)
    return emptyState(
      'alerts',
      'No alerts',
      'Endpoints that fail, budgets that are used, campaigns that end, and placements that drop appear here.',
    );
  const unread = alerts.filter(({ isNew }) => isNew).length;
  const read =
    unread > 0 && actionButton(context, { to: context.path('/alerts/read'), text: 'Mark all as read', small: true });
  return card('Inbox', html`<ul class="stream">${alerts.map((alert) => item(context, alert, muteDays))}</ul>`, {
    lead: unread === 0 ? 'All read.' : `${unread} new.`,
    actions: html`${read}`,
  });
}

function item(context: PublisherContext, alert: Shown, muteDays: number): Html {
  const { publisher, path } = context;
  const { kind, title, reason, raisedAt, endedAt, isNew, mutedUntil } = alert;
  return html`
    <li class="alert" id="alert-${alert.id}">
      ${isNew ? badge('New', 'info') : nothing}
      <span class="alert-text">
        ${strongLink(path(alert.path), title)}
        <span>${reason}</span>
      </span>
      ${good.includes(kind) ? badge('Recovered', 'good') : endedAt !== null ? badge('Over', 'good') : nothing}
      ${moment(publisher, raisedAt)}
      ${muteButton(context, alert, mutedUntil, muteDays)}
    </li>`;
}

function muteButton(context: PublisherContext, { id, title }: Shown, until: Date | null, days: number): Html {
  const isMuted = until !== null;
  if (!hasRole(context.viewer.user.role, 'manager')) return isMuted ? badge('Muted') : nothing;
  return actionButton(context, {
    to: context.path(`/alerts/${id}/mute`),
    text: isMuted ? 'Unmute' : `Mute ${days} days`,
    small: true,
    values: { mute: isMuted ? 'no' : 'yes' },
    ...(!isMuted && { confirm: `Nobody is told of this again for ${days} days: ${title}. The inbox still shows it.` }),
  });
}
