import { hasResources, resource } from './resources.ts';

// To be imported before the server, whose modules take longer to load than PostgreSQL to start. What fails is thrown
// where the test waits for it.
if (hasResources()) resource('postgres').catch(() => {});
