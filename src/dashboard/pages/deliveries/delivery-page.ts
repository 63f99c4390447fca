import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { viewOfWholeDelivery } from '../../../webhooks/deliveries/view.ts';
import { hasRole } from '../../auth/users.ts';
import { actionButton } from '../../shell/actions.ts';
import { card, codeBlock, descriptionList, link } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment, momentOr } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import type { TypedFilter } from './filter.ts';
import { statusBadge, timeline } from './timeline.ts';

/** `endpoint`: its name. */
type WholeDelivery = ReturnType<typeof viewOfWholeDelivery> & { endpoint: string };

/** One delivery with its attempts and payload; refreshes itself while it is pending. */
export function deliveryPage(context: PublisherContext, delivery: WholeDelivery): Page {
  const { publisher, path } = context;
  const at = path(`/deliveries/${delivery.id}`);
  const refresh = html` hx-get="${at}" hx-select="#delivery" hx-swap="outerHTML" hx-trigger="every 2s"`;
  const attempts =
    delivery.attempts.length === 0
      ? html`<p class="hint">No attempts yet.</p>`
      : timeline(delivery.attempts, publisher);
  return {
    title: 'Delivery',
    lead: html`<code>${delivery.webhook_id}</code>`,
    nav: 'deliveries',
    trail: [{ text: 'Deliveries', href: path('/deliveries') }],
    body: html`
      <div id="delivery"${delivery.status === 'pending' && refresh}>
        ${detailsCard(context, delivery, at)}
        ${card('Attempts', attempts, { lead: 'All attempts have the same id and body; each is signed anew.' })}
      </div>
      ${card('Payload', payloadBlock(delivery.payload))}`,
  };
}

function detailsCard(context: PublisherContext, delivery: WholeDelivery, at: string): Html {
  const { publisher, viewer, path } = context;
  const canRedeliver =
    hasRole(viewer.user.role, 'manager') && delivery.status !== 'pending' && delivery.erased_at === null;
  const redeliver = () => actionButton(context, { to: `${at}/replay`, text: 'Redeliver', kind: 'main' });
  return card(
    'Details',
    descriptionList([
      ['Status', statusBadge(delivery.status)],
      ['Event', delivery.event],
      ['Endpoint', link(path(`/settings/webhooks/${delivery.endpoint_id}`), delivery.endpoint)],
      ['Created', moment(publisher, delivery.created_at, 'second')],
      ['Finished', momentOr(publisher, delivery.finished_at)],
      ['Next attempt', momentOr(publisher, delivery.next_try_at)],
      ['User id', delivery.pub_user_id ?? '–'],
      ['Session id', html`<code>${delivery.session_id ?? '–'}</code>`],
    ]),
    { actions: canRedeliver ? redeliver() : nothing },
  );
}

function payloadBlock(payload: string | null): Html {
  if (payload === null) return html`<p class="hint">Erased at the user’s request.</p>`;
  return codeBlock('Payload', formatJson(payload));
}

function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Redelivery of all deliveries that match the filter of the list. */
export function redeliverCard(context: PublisherContext, typed: TypedFilter): Html {
  if (typed.status === 'pending') return nothing;
  const status = typed.status || 'failed and held';
  const button = actionButton(context, {
    to: context.path('/deliveries/replay'),
    text: 'Redeliver all matches',
    values: typed,
    confirm: `All ${status} deliveries that match the filter will be sent again with their original ids.`,
  });
  return card('Redeliver', button, { lead: `Sends the ${status} deliveries of the filter above again.` });
}
