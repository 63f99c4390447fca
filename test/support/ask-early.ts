import { hasResources, resource } from './resources.ts';

// Import this module before the server, whose modules take longer to load than PostgreSQL takes to start. Failures are
// thrown where the test waits for the resource.
if (hasResources()) resource('postgres').catch(() => {});
