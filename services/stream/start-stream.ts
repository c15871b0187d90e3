import type { TokenIssuer } from '../../shared/nest/access-tokens.jose.ts';
import { createService, type RunningService } from '../../shared/nest/create-service.ts';
import type { Foundation } from '../../shared/nest/foundation.module.ts';
import type { Stream } from './compose-stream.ts';
import { STREAM } from './edge/tokens.ts';
import { StreamModule } from './stream.module.ts';

/** Starts the stream service; the foundation must have a message bus. Ready when all that was published has been read. */
export const startStream = (foundation: Foundation, issuer: TokenIssuer): Promise<RunningService> => {
  const { HOST, STREAM_PORT } = foundation.settings;
  let stream: Stream | undefined;
  return createService({
    module: StreamModule,
    foundation,
    issuer,
    host: HOST,
    port: STREAM_PORT,
    readiness: { caughtUp: () => stream?.latest.tail.isCaughtUp ?? false },
    configure: (app) => {
      stream = app.get<Stream>(STREAM);
    },
  });
};
