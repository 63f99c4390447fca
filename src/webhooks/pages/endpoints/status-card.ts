import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { actionButton, badge, card, descriptionList, link, notice, type Tone } from '../../../shell/components.ts';
import { hasRole } from '../../../shell/context.ts';
import { moment, momentOr } from '../../../shell/format.ts';
import { kindOf } from '../../destinations/kinds.ts';
import { viewOfState } from '../../endpoints/view.ts';
import { answerText, fixOf } from '../../last-failure.ts';
import type { FoundEndpoint } from './destination-fields.ts';

type EndpointState = ReturnType<typeof viewOfState>;

function statusTone(state: EndpointState): Tone {
  if (state.status === 'active') return isFailing(state) ? 'bad' : 'good';
  return state.status === 'paused' ? 'warn' : 'bad';
}

/** Renders a badge with the endpoint state. An active endpoint whose calls fail is shown as failing. */
export const statusBadge = (state: EndpointState): Html =>
  badge(t(`endpointStatus.${isFailing(state) ? 'failing' : state.status}`), statusTone(state));

const isFailing = ({ status, warning, transformation_failure: failure }: EndpointState): boolean =>
  status === 'active' && (warning !== null || failure !== null);

/** Returns the number of pending and held deliveries as text. They are counted up to a limit. */
export const countWaiting = ({ pending, held }: { pending: number; held: number }): string =>
  t('webhooks.deliveries', { count: pending + held });

/**
 * Renders a card with the endpoint state, the pending and held deliveries, and the actions for the endpoint. `at` is
 * the path of the page.
 */
export function statusCard(context: PublisherContext, { endpoint, health }: FoundEndpoint, at: string): Html {
  const { publisher, path } = context;
  const state = viewOfState(endpoint, health);
  const deliveries = (status: string, count: number) =>
    link(path(`/deliveries?status=${status}&endpoint=${endpoint.id}`), t('webhooks.deliveries', { count }));
  const reason = endpoint.disabledReason;
  const status = html`
    ${statusBadge(state)}
    ${reason !== null && html`<span class="hint">${t(`disableReason.${reason}`)}</span>`}
    ${state.breaker === 'open' && badge(t('webhooks.breakerOpen'), 'bad')}`;
  const list = descriptionList([
    [t('webhooks.status'), status],
    [t('webhooks.pending'), deliveries('pending', state.pending)],
    [t('webhooks.held'), deliveries('held', state.held)],
    [t('webhooks.lastSuccess'), momentOr(publisher, state.last_success_at, t('webhooks.never'))],
    [t('webhooks.failures'), state.failures],
    ...(health.breakerOpenUntil === null
      ? []
      : [[t('webhooks.nextProbe'), moment(publisher, health.breakerOpenUntil, 'second')] as const]),
  ]);
  const isPortal = context.request.portal !== null;
  const secret = !isPortal && html`<p class="hint below" id="secret">${t('webhooks.secretOnce')}</p>`;
  const notices = html`
    ${pauseNotice(context, endpoint, state)}
    ${transformationNotice(context, health)}
    ${failureNotice(context, { endpoint, health })}`;
  return card(t('webhooks.status'), html`${notices}${list}${secret}`, {
    actions: endpointActions(context, endpoint, state, at),
  });
}

/** Renders what the receiver answered last, since when its calls fail, and how to fix it. */
function failureNotice({ publisher, path }: PublisherContext, { endpoint, health }: FoundEndpoint): Html {
  const { lastFailure, failures, failingSince } = health;
  if (lastFailure === null) return nothing;
  const fix = fixOf(endpoint, lastFailure);
  const delivery = `/deliveries/${lastFailure.deliveryId}`;
  const since = failingSince === null ? nothing : moment(publisher, failingSince);
  return notice(
    endpoint.enabled && health.failing ? 'failed' : 'warn',
    html`
      <p>${tHtml('webhooks.failingFor', { failures, since })} ${answerText(lastFailure)}</p>
      <p>
        ${fix.text} ${link(path(fix.path), fix.link)}
        ${fix.path !== delivery && html` · ${link(path(delivery), t('webhooks.fixLink', { field: 'other' }))}`}
      </p>`,
  );
}

/** Renders why the transformation fails, and since when nothing is sent. */
function transformationNotice(
  { publisher, path }: PublisherContext,
  { transformationFailure: failure }: FoundEndpoint['health'],
): Html {
  if (failure === null) return nothing;
  const { since, attempt } = failure;
  return notice(
    'failed',
    html`
      <p>${tHtml('webhooks.transformationFailing', { since: moment(publisher, since) })} ${attempt?.error?.message}</p>
      <p>
        ${link('#f-transformation-body', t('webhooks.fixLink', { field: 'transformation' }))}
        ${
          attempt !== null &&
          html` · ${link(path(`/deliveries/${attempt.deliveryId}`), t('webhooks.fixLink', { field: 'other' }))}`
        }
      </p>`,
  );
}

function pauseNotice({ publisher }: PublisherContext, { pausedAt }: FoundEndpoint['endpoint'], state: EndpointState) {
  if (pausedAt === null) return nothing;
  return notice(
    'warn',
    html`
      <p>
        ${tHtml('webhooks.pausedSince', {
          time: moment(publisher, pausedAt, 'second'),
          waiting: countWaiting(state),
        })}
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
  // Events of a pull endpoint are never sent, so only held ones can be retried.
  const waiting = state.held + (kindOf(endpoint.url) === 'pull' ? 0 : state.pending);
  const canRetry = hasRole(role, 'manager') && state.status === 'active' && waiting > 0;
  const retry = () =>
    actionButton(context, {
      to: context.path('/deliveries/replay'),
      text: t('webhooks.retryNow'),
      kind: 'main',
      small: true,
      values: { status: 'waiting', endpoint: endpoint.id },
      confirm: t('webhooks.retryConfirm', { waiting: countWaiting(state) }),
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
  const waiting =
    state.pending > 0 ? t('webhooks.theseAndNew', { waiting: countWaiting(state) }) : t('webhooks.newDeliveries');
  return html`
    ${!endpoint.enabled && action('enable', t('webhooks.enable'))}
    ${
      endpoint.pausedAt === null
        ? action('pause', t('webhooks.pause'), t('webhooks.pauseConfirm', { waiting }))
        : action('resume', t('webhooks.resume'))
    }
    ${context.request.portal === null && action('rotate', t('webhooks.rotate'), t('webhooks.rotateConfirm'))}
    ${actionButton(context, {
      to: `${at}/remove`,
      text: t('common.remove'),
      kind: 'danger',
      small: true,
      confirm: t('webhooks.removeConfirm'),
    })}`;
}
