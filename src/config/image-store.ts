import { parseStorage, type StorageSetting } from './storage.ts';

/** Settings of the storage for original images. */
export type ImageStoreSetting = { kind: 'database' } | StorageSetting;

type ImageStoreVariables = { store: string; accessKeyId: string; secretAccessKey: string };

/**
 * Parses IMAGE_STORE: empty, or a storage location.
 * @param problems array to which problems are added
 */
export const parseImageStore = (variables: ImageStoreVariables, problems: string[]): ImageStoreSetting =>
  (variables.store === '' ? null : parseStorage({ name: 'IMAGE_STORE', ...variables }, problems)) ?? {
    kind: 'database',
  };
