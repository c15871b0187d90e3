/** Of a browser: `localStorage` or `sessionStorage`. */
export interface WebStorage {
  getItem: (key: string) => string | null;
  setItem: (key: string, value: string) => void;
  removeItem: (key: string) => void;
}
export interface KeyValueStore {
  get: (key: string) => Promise<string | null | undefined> | string | null | undefined;
  set: (key: string, value: string) => unknown;
  delete: (key: string) => unknown;
}
export type ClientStorage = WebStorage | KeyValueStore;

const isWebStorage = (storage: ClientStorage): storage is WebStorage => 'getItem' in storage;

/** Keeps values as JSON in the caller's storage, under the name of its app. */
export class KeptValues {
  private readonly storage: KeyValueStore;
  private readonly isWeb: boolean;

  constructor(
    storage: ClientStorage,
    private readonly prefix: string,
  ) {
    this.isWeb = isWebStorage(storage);
    this.storage = isWebStorage(storage)
      ? {
          get: (key) => storage.getItem(key),
          set: (key, value) => {
            storage.setItem(key, value);
          },
          delete: (key) => {
            storage.removeItem(key);
          },
        }
      : storage;
  }

  async get<Value>(name: string): Promise<Value | undefined> {
    const text = await this.storage.get(this.prefix + name);
    if (text == null) return undefined;
    try {
      return JSON.parse(text) as Value;
    } catch {
      // Whoever wrote it, it is no value of ours.
      return undefined;
    }
  }

  async set(name: string, value: unknown): Promise<void> {
    await this.storage.set(this.prefix + name, JSON.stringify(value));
  }

  async delete(name: string): Promise<void> {
    await this.storage.delete(this.prefix + name);
  }

  /** Calls back when another tab has changed the value. */
  onChange(name: string, changed: () => void): void {
    if (!this.isWeb) return;
    const { addEventListener } = globalThis as {
      addEventListener?: (type: 'storage', listener: (event: { key: string | null }) => void) => void;
    };
    addEventListener?.('storage', ({ key }) => {
      if (key === null || key === this.prefix + name) changed();
    });
  }
}
