import { z } from 'zod';
import { appEvents } from '../../../schemas/events/account/app-events.ts';
import { address, isoTime } from '../../../schemas/values.ts';
import { toIso } from '../../primitives/clock.ts';
import { readModel } from '../read-model.ts';

const appDocument = z.object({
  id: z.string(),
  name: z.string(),
  /** Addresses of the app's signing keys: the current one, and the one before, if any. */
  signer: address,
  formerSigner: address.nullable(),
  /** Likewise for its server keys. */
  serverSigner: address.nullable(),
  formerServerSigner: address.nullable(),
  origins: z.array(z.string()),
  /** When the app was revoked, since when nobody calls on its behalf; `null` while it is live. */
  revokedAt: isoTime.nullable(),
});
export type AppDocument = z.infer<typeof appDocument>;

const { AppRegistered, AppKeyRotated, AppServerKeyCreated, AppServerKeyRevoked, AppOriginAllowed, AppRevoked } =
  appEvents;

/** Apps, by app id. Browsers are served from the origins of live apps, and the gateway checks their keys. */
export const appsModel = readModel({
  name: 'apps-v4',
  collections: {
    app: {
      name: 'apps-v4',
      document: appDocument,
      indexes: [['signer'], ['formerSigner'], ['serverSigner'], ['formerServerSigner']],
    },
  },
  events: { AppRegistered, AppKeyRotated, AppServerKeyCreated, AppServerKeyRevoked, AppOriginAllowed, AppRevoked },
  touches: ({ data }) => ({ app: data.appId }),
  evolve: ({ app }, { type, data, time }) => {
    switch (type) {
      case 'AppRegistered': {
        const { appId: id, name, signer, origins } = data;
        const noServerKey = { serverSigner: null, formerServerSigner: null };
        return { app: { id, name, signer, formerSigner: null, ...noServerKey, origins, revokedAt: null } };
      }
      case 'AppKeyRotated':
        return { app: app && { ...app, signer: data.signer, formerSigner: app.signer } };
      case 'AppServerKeyCreated':
        return { app: app && { ...app, serverSigner: data.signer, formerServerSigner: app.serverSigner } };
      case 'AppServerKeyRevoked': {
        if (!app) return { app };
        const [serverSigner = null, formerServerSigner = null] = [app.serverSigner, app.formerServerSigner].filter(
          (signer) => signer !== null && signer !== data.signer,
        );
        return { app: { ...app, serverSigner, formerServerSigner } };
      }
      case 'AppOriginAllowed':
        return { app: app && { ...app, origins: [...app.origins, data.origin] } };
      case 'AppRevoked':
        return { app: app && { ...app, revokedAt: toIso(time) } };
    }
  },
});
