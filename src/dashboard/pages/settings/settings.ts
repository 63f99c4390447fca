import { publishers } from '../../../catalog/management/publishers.ts';
import type { Values, View } from '../../../catalog/management/resource.ts';
import { etagOf, PreconditionFailed } from '../../../catalog/management/rows.ts';
import { html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { mayAct } from '../../auth/users.ts';
import { facts, saveForm } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { createForm, type FormValue, type Problems, problemsOf } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { publisherFields, readPublisher } from './publisher-form.ts';

/** Settings > Configuration: the publisher's own. */
export function settingsPages(app: App, tools: Tools): void {
  const { store } = tools;
  const pages = publisherPages(app, tools);
  const isOperator = ({ viewer }: PublisherContext): boolean => viewer.user.role === 'operator';

  pages.get('/settings', 'analyst', async (context) => {
    const view = await store.get(context, publishers, context.publisher.id);
    return show(context, view, view, []);
  });

  pages.post('/settings', 'admin', async (context, fields) => {
    const given = readPublisher(fields, isOperator(context));
    try {
      await store.update(context, publishers, context.publisher.id, given, fields.text('_version') || null);
      return { to: context.path('/settings'), done: 'The configuration is saved.' };
    } catch (err) {
      const view = await store.get(context, publishers, context.publisher.id);
      if (err instanceof PreconditionFailed)
        return show(context, view, given, [
          {
            path: '/',
            message: 'Somebody else saved this meanwhile. Below is what you typed; save again to replace theirs',
          },
          ...(err.details ?? []),
        ]);
      return show(context, view, given, problemsOf(err));
    }
  });

  function show(context: PublisherContext, view: View, values: Values, problems: Problems): Page {
    const form = createForm({ ...view, ...values } as Record<string, FormValue>, problems);
    const fields = publisherFields(form, { asOperator: isOperator(context), timeZone: String(view.time_zone) });
    const enabled = (name: string): string => (view[name] === true ? 'On' : 'Off');
    return {
      title: 'Configuration',
      lead: 'How many offers an answer holds, and what belongs to all of them.',
      nav: 'settings',
      status: problems.length > 0 ? 422 : 200,
      body: html`${
        isOperator(context)
          ? html``
          : html`<section class="card">${facts([
              ['User Selected Perks', enabled('usp_enabled')],
              ['Wallet', enabled('wallet_enabled')],
              ['Offerwall', enabled('offerwall_enabled')],
            ])}<p class="hint below">Your account manager switches these.</p></section>`
      }
<section class="card">${
        mayAct(context.viewer.user.role, 'admin')
          ? saveForm(
              context,
              context.path('/settings'),
              html`<input type="hidden" name="_version" value="${etagOf(view)}">${form.summary()}${fields}`,
            )
          : html`<fieldset class="plain" disabled>${fields}</fieldset>`
      }</section>`,
    };
  }
}
