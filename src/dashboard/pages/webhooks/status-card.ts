import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { viewOfState } from '../../../webhooks/endpoints/view.ts';
import { hasRole } from '../../auth/users.ts';
import { actionButton } from '../../shell/actions.ts';
import { badge, card, descriptionList, link, notice, type Tone } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment, momentOr, plural } from '../../shell/format.ts';
import type { FoundEndpoint } from './endpoint-form.ts';

type EndpointState = ReturnType<typeof viewOfState>;

export function statusTone({ status, warning }: EndpointState): Tone {
  if (status === 'active') return warning === null ? 'good' : 'bad';
  return status === 'paused' ? 'warn' : 'bad';
}

/** How many deliveries wait, in words; they are counted up to a limit. */
export const countWaiting = ({ pending, held }: Pick<EndpointState, 'pending' | 'held'>): string =>
  plural(pending + held, 'delivery', 'deliveries');

/** State of an endpoint: what waits, and what can be done. `at`: its page. */
export function statusCard(context: PublisherContext, { endpoint, health }: FoundEndpoint, at: string): Html {
  const { publisher, path } = context;
  const state = viewOfState(endpoint, health);
  const deliveries = (status: string, count: number) =>
    link(path(`/deliveries?status=${status}&endpoint=${endpoint.id}`), plural(count, 'delivery', 'deliveries'));
  const reason = endpoint.disabledReason;
  const status = html`
    ${badge(state.status, statusTone(state))}
    ${reason !== null && html`<span class="hint">${reason}</span>`}
    ${state.breaker === 'open' && badge('circuit breaker open', 'bad')}`;
  const list = descriptionList([
    ['Status', status],
    ['Pending', deliveries('pending', state.pending)],
    ['Held', deliveries('held', state.held)],
    ['Last success', momentOr(publisher, state.last_success_at, 'none')],
    ['Consecutive failures', state.failures],
    ...(health.breakerOpenUntil === null
      ? []
      : [['Next probe', moment(publisher, health.breakerOpenUntil, 'second')] as const]),
  ]);
  return card('Status', html`${pauseNotice(context, endpoint, state)}${list}`, {
    actions: endpointActions(context, endpoint, state, at),
  });
}

function pauseNotice({ publisher }: PublisherContext, { pausedAt }: FoundEndpoint['endpoint'], state: EndpointState) {
  if (pausedAt === null) return nothing;
  return notice(
    'warn',
    html`
      <p>
        Paused since ${moment(publisher, pausedAt, 'second')}.
        Waiting until it is resumed: ${countWaiting(state)}.
      </p>`,
  );
}

function endpointActions(
  context: PublisherContext,
  endpoint: FoundEndpoint['endpoint'],
  state: EndpointState,
  at: string,
): Html {
  const { role } = context.viewer.user;
  const canRetry = hasRole(role, 'manager') && state.status === 'active' && state.pending + state.held > 0;
  const retry = () =>
    actionButton(context, {
      to: context.path('/deliveries/replay'),
      text: 'Retry now',
      kind: 'main',
      small: true,
      values: { status: 'waiting', endpoint: endpoint.id },
      confirm: `${countWaiting(state)} will be sent now, within the limits of the endpoint.`,
    });
  return html`${canRetry && retry()}${hasRole(role, 'admin') && adminActions(context, endpoint, state, at)}`;
}

function adminActions(
  context: PublisherContext,
  endpoint: FoundEndpoint['endpoint'],
  state: EndpointState,
  at: string,
): Html {
  const action = (name: string, text: string, confirm?: string): Html =>
    actionButton(context, { to: `${at}/${name}`, text, small: true, ...(confirm !== undefined && { confirm }) });
  const waiting = state.pending > 0 ? `${countWaiting(state)} and new ones` : 'New deliveries';
  return html`
    ${!endpoint.enabled && action('enable', 'Enable')}
    ${
      endpoint.pausedAt === null
        ? action('pause', 'Pause', `${waiting} wait until it is resumed. Nothing is lost.`)
        : action('resume', 'Resume')
    }
    ${action(
      'rotate',
      'Rotate secret',
      'A new signing secret is created and shown once. The current one stays valid for 24 hours.',
    )}
    ${actionButton(context, {
      to: `${at}/remove`,
      text: 'Remove',
      kind: 'danger',
      small: true,
      confirm: 'It gets no new deliveries, and its pending ones are held.',
    })}`;
}
