import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { peakMb, processorMs, residentMb } from '../processor-time.ts';

const { STREAM_NODE_OPTIONS } = process.env;

/** A server that is measured, alone in its process. */
export class StreamServer {
  private constructor(
    readonly name: string,
    readonly folder: string,
    readonly url: string,
    private readonly metricsUrl: string | undefined,
    private readonly process: RunningProcess,
  ) {}

  /** The stream service on the embedded stores of a folder. */
  static async annals(folder: string, settings: Record<string, string>): Promise<StreamServer> {
    const process = RunningProcess.spawn('stream', ['services/stream/main.ts'], {
      DATA_DIR: folder,
      STREAM_PORT: '0',
      METRICS_PORT: '0',
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'warn',
      // Such as --cpu-prof.
      ...(STREAM_NODE_OPTIONS !== undefined && { NODE_OPTIONS: STREAM_NODE_OPTIONS }),
      ...settings,
    });
    const [, url = '', metricsUrl] = await process.ready(/is ready in \S+ s: (\S+), metrics (\S+)/);
    return new StreamServer('Annals', folder, url, metricsUrl, process);
  }

  static async raw(folder: string): Promise<StreamServer> {
    const program = ['services/standalone/bench/stream/raw-server.socketio.ts', folder];
    const process = RunningProcess.spawn('raw Socket.IO', program, {});
    const [, url = ''] = await process.ready(/is ready: (\S+)/);
    return new StreamServer('raw Socket.IO', folder, url, undefined, process);
  }

  get memoryMb(): number {
    return residentMb(this.process.child.pid);
  }

  get processorMs(): number {
    return processorMs(this.process.child.pid);
  }

  get peakMb(): number {
    return peakMb(this.process.child.pid);
  }

  /** The sum of a counter over all its labels. */
  async count(counter: string): Promise<number> {
    if (this.metricsUrl === undefined) return Number.NaN;
    const metrics = await (await fetch(`${this.metricsUrl}/metrics`)).text();
    const values = metrics.matchAll(new RegExp(`^${counter}(?:\\{.*\\})? (\\S+)$`, 'gm'));
    return Array.from(values, ([, value]) => Number(value)).reduce((sum, value) => sum + value, 0);
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }

  /** As a crash. */
  async kill(): Promise<void> {
    await this.process.kill();
  }
}
