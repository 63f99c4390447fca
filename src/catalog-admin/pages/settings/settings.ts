import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Values, View } from '../../../management/resource.ts';
import { etagOf, PreconditionFailed } from '../../../management/rows.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { warnOfZone } from '../../../platform/lib/zone-names.ts';
import { descriptionList, hiddenField, readOnlyFields, saveForm, warningNotice } from '../../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, hasRole } from '../../../shell/context.ts';
import { createForm, sectionIndex } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageResult } from '../../../shell/pages.ts';
import { versionField, withStored } from '../../../shell/row-list.ts';
import { publishers } from '../../resources/publishers.ts';
import type { PageServices } from '../services.ts';
import { features, publisherFields, publisherToForm, readPublisher } from './publisher-form.ts';

/** Registers the page for the publisher's own settings. */
export function settingsPages(app: App, services: PageServices): void {
  const { management } = services;
  const pages = publisherPages(app, services);
  pages.get('/settings', 'analyst', async (context) => {
    const view = await management.get(context, publishers, context.publisher.id);
    return settingsPage(context, view, view, []);
  });
  pages.post('/settings', 'admin', (context, fields) => save(services, context, fields));
}

const isOperator = ({ viewer }: PublisherContext): boolean => viewer.user.role === 'operator';

async function save({ management }: PageServices, context: PublisherContext, submitted: Fields): Promise<PageResult> {
  const { id } = context.publisher;
  const stored = await management.get(context, publishers, id);
  const fields = withStored(submitted, publisherToForm(stored));
  const settings = readPublisher(fields, isOperator(context));
  try {
    await management.update(context, publishers, id, settings, fields.text(versionField) || null);
    return { to: context.path('/settings'), done: t('settings.saved') };
  } catch (err) {
    const view = await management.get(context, publishers, id);
    if (!(err instanceof PreconditionFailed)) return settingsPage(context, view, settings, fieldErrorsOf(err));
    const message = t('settings.conflict');
    return settingsPage(context, view, settings, [{ path: '/', message }, ...fieldErrorsOf(err)]);
  }
}

function settingsPage(context: PublisherContext, view: View, values: Values, errors: FieldErrors): Page {
  const form = createForm(publisherToForm({ ...view, ...values }), errors);
  const fields = publisherFields(form, { asOperator: isOperator(context), isNew: false });
  const body = html`${hiddenField(versionField, etagOf(view))}${form.summary()}${fields}`;
  const canEdit = hasRole(context.viewer.user.role, 'admin');
  return {
    title: t('settings.title'),
    lead: t('settings.lead'),
    nav: 'settings',
    status: errors.length > 0 ? 422 : 200,
    body: html`
      ${warningNotice(warnOfZone('/time_zone', String(view.time_zone)))}
      ${!isOperator(context) && featureCard(view)}
      <section class="card">
        ${sectionIndex(fields)}
        ${
          canEdit
            ? saveForm(context, context.path('/settings'), body)
            : html`<form class="form">${readOnlyFields(fields)}</form>`
        }
      </section>`,
  };
}

function featureCard(view: View): Html {
  const states = features.map(
    ({ name, label }) => [t(label), t(view[name] === true ? 'common.enabled' : 'common.disabled')] as const,
  );
  return html`
    <section class="card">
      ${descriptionList(states)}
      ${
        features.some(({ name }) => view[name] !== true) &&
        html`<p class="hint below">${t('settings.featuresHint')}</p>`
      }
    </section>`;
}
