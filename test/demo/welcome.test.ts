import { expect, test } from 'vitest';
import { printWelcome } from '../../src/demo/welcome.ts';
import { testConfig } from '../support/test-config.ts';

test('the welcome contains the one-time link to the dashboard, as text and as JSON', () => {
  const config = testConfig({ publicUrl: 'http://localhost:9000' });
  const dashboardLink = 'http://localhost:9000/dashboard/set-password?t=1';
  const [text, json] = [false, true].map((isJson) => {
    let output = '';
    printWelcome(config, { dashboardLink, isJson, write: (part) => (output += part) });
    return output;
  }) as [string, string];
  expect(text).toContain(`Dashboard ${dashboardLink}`);
  expect(JSON.parse(json)).toMatchObject({ msg: 'welcome', url: config.publicUrl, dashboard_url: dashboardLink });
  expect(json.trim().split('\n')).toHaveLength(1);
});
