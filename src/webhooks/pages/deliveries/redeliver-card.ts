import type { PublisherContext } from '../../../catalog/publisher-pages.ts';
import type { Html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { actionButton } from '../../../shell/actions.ts';
import { card } from '../../../shell/components.ts';
import type { TypedFilter } from './filter.ts';

/** Sends all deliveries again that match the filter of the list. */
export function redeliverCard(context: PublisherContext, typed: TypedFilter): Html {
  const status = typed.status || 'all';
  const text = status === 'delivered' ? t('deliveries.redeliverMatches') : t('deliveries.retryMatches');
  const button = actionButton(context, {
    to: context.path('/deliveries/replay'),
    text,
    values: typed,
    confirm: t('deliveries.redeliverConfirm', { status }),
  });
  return card(text, button, {
    lead: t('deliveries.redeliverLead', { status }),
  });
}
