import { Controller, StreamableFile } from '@nestjs/common';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { LOG } from '../../../shared/read-models/transparency-log.ts';
import { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { HASH_BYTES } from '../../../shared/transparency-log/merkle-tree.ts';
import { parseTilePath } from '../../../shared/transparency-log/tiles.ts';
import { vkeyOf } from '../../../shared/transparency-log/signed-note.ts';
import { Checkpoints } from '../../../shared/transparency-log/checkpoints.ts';

const { logCheckpoint, logTile, logKey } = accountRoutes;

@Controller()
export class ServeLogHttp {
  constructor(
    private readonly log: StoredLog,
    private readonly checkpoints: Checkpoints,
  ) {}

  @Implements(logCheckpoint, { reads: [LOG] })
  async checkpoint() {
    return file(await this.checkpoints.note(), logCheckpoint.answerType);
  }

  @Implements(logTile, { reads: [LOG] })
  async tile({ params: { level, index } }: ParsedRequest<typeof logTile>) {
    const path = parseTilePath(`${String(level)}/${index}`);
    const [tile] = path ? await this.log.tiles([path]) : [];
    const bytes = (path?.width ?? 0) * HASH_BYTES;
    if (!tile || tile.length < bytes) throw new Refusal('route_not_found', 'the log has no such tile');
    return file(tile.subarray(0, bytes), logTile.answerType);
  }

  @Implements(logKey)
  async key() {
    return file(vkeyOf((await this.checkpoints.signer()).key), logKey.answerType);
  }
}

const file = (content: string | Uint8Array, type: string) => new StreamableFile(Buffer.from(content), { type });
