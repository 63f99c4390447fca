import { Type } from '@sinclair/typebox';
import { type PublisherContext, publisherPages } from '../../src/catalog/pages.ts';
import { html } from '../../src/platform/http/html.ts';
import type { Module } from '../../src/runtime/module.ts';

/**
 * Creates a minimal module with one contribution of each kind. Its job and its retention record their runs in `ran`.
 */
export const createToys = (ran: string[]): Module => ({
  name: 'toys',
  rank: 999,
  permissions: [{ name: 'toys', role: 'manager', text: 'nav.general' }],
  eventTypes: [
    {
      name: 'toy.made',
      title: 'Toy made',
      description: 'A toy was made.',
      payload: Type.Object({ toy: Type.String() }),
      sample: () => Buffer.from('{"toy":"ball"}'),
    },
  ],
  navigation: [
    { group: 'main', rank: 99, key: 'toys', text: 'nav.general', path: '/toys', icon: 'settings', role: 'analyst' },
  ],
  commands: [
    {
      name: 'toys list',
      about: 'Lists the toys',
      options: {},
      examples: ['toys list'],
      load: async () => async (call) => {
        call.out.line('ball');
        return 0;
      },
    },
  ],
  userData: {
    exports: {
      toys: async function* () {
        yield [{ toy: 'ball' }];
      },
    },
  },
  retention: async () => {
    ran.push('retention');
    return { toys: 1 };
  },
  routes: async (app, { auth }) => {
    const schema = { operationId: 'listToys', summary: 'List toys', response: { 200: Type.Array(Type.String()) } };
    app.get('/toys.json', { schema, preValidation: auth.requireKey('toys') }, async () => ['ball']);
  },
  pages: (app, shell) =>
    publisherPages(app, shell).get('/toys', 'analyst', ({ publisher }: PublisherContext) => ({
      title: 'Toys',
      nav: 'toys',
      body: html`<p>Toys of ${publisher.name}</p>`,
    })),
  jobs: () => [
    { name: 'toys', roles: ['worker'], pauseMs: 1000, locks: 'none', run: async () => void ran.push('job') },
  ],
});
