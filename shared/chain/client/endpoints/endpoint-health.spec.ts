import { describe, expect, it } from '@jest/globals';
import { EndpointHealth } from './endpoint-health.ts';

describe('the health of an endpoint', () => {
  it('has it left alone for twice as long each time that it fails, up to five minutes', () => {
    const health = new EndpointHealth(30_000);
    let nowMs = 1_000;
    const pauses = Array.from({ length: 6 }, () => {
      health.failed(nowMs);
      const pauseMs = health.quarantinedUntilMs - nowMs;
      nowMs = health.quarantinedUntilMs;
      return pauseMs;
    });
    expect(pauses).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  it('counts what fails together once', () => {
    const health = new EndpointHealth(1_000);
    health.failed(0);
    health.failed(10);
    expect(health.quarantinedUntilMs).toBe(1_010);
    health.failed(1_010);
    expect(health.quarantinedUntilMs).toBe(3_010);
  });

  it('gives it up after three failures, each of a request that began after the failure before', () => {
    const health = new EndpointHealth(1_000);
    for (const nowMs of [100, 110, 120, 130]) health.failed(nowMs, 90);
    expect(health.isGivenUp(130)).toBe(false);
    health.failed(200, 100);
    health.failed(210, 199);
    expect(health.isGivenUp(210)).toBe(false);
    health.failed(300, 200);
    expect(health.isGivenUp(300)).toBe(true);
    expect(health.isGivenUp(health.quarantinedUntilMs)).toBe(false);
  });

  it('trusts what answers at once, and forgets its failures once it has answered for as long as it was left alone', () => {
    const health = new EndpointHealth(1_000);
    health.failed(0);
    health.succeeded(500);
    expect(health.quarantinedUntilMs).toBe(500);
    health.failed(600);
    expect(health.quarantinedUntilMs).toBe(2_600);
    health.succeeded(2_600);
    health.succeeded(4_601);
    health.failed(4_602);
    expect(health.quarantinedUntilMs).toBe(5_602);
  });

  it('smooths the latency', () => {
    const health = new EndpointHealth(1_000);
    expect(health.latencyMs).toBeUndefined();
    health.measured(100);
    expect(health.latencyMs).toBe(100);
    health.measured(200);
    expect(health.latencyMs).toBeCloseTo(130);
  });
});
