import type { Html } from '../../../platform/http/html.ts';
import { actionButton } from '../../shell/actions.ts';
import { card } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import type { TypedFilter } from './filter.ts';

/** Sends all deliveries again that match the filter of the list. */
export function redeliverCard(context: PublisherContext, typed: TypedFilter): Html {
  const status = typed.status || 'failed, held and pending';
  const text = status === 'delivered' ? 'Redeliver all matches' : 'Retry all matches now';
  const button = actionButton(context, {
    to: context.path('/deliveries/replay'),
    text,
    values: typed,
    confirm: `All ${status} deliveries that match the filter will be sent now with their original ids.`,
  });
  return card(text, button, {
    lead: `Sends the ${status} deliveries of the filter above, within the limits of their endpoints.`,
  });
}
