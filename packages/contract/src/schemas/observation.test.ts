import { expect, test } from 'vitest';
import { AuditConfig, TelemetryConfig } from './observation.ts';

test('audit settings have the same meaning with the names of later versions', () => {
  const later = {
    component: 'a',
    eventTypes: ['mcp_tool_call'],
    logFile: '/tmp/a.log',
    maxDataSize: 5,
    new: 1,
  };

  expect(AuditConfig.parse(later)).toEqual({
    component: 'a',
    event_types: ['mcp_tool_call'],
    log_file: '/tmp/a.log',
    max_data_size: 5,
    new: 1,
  });
  expect(AuditConfig.parse({ log_file: '/a', logFile: '/b' })).toMatchObject({ log_file: '/a' });
  expect(AuditConfig.safeParse({ maxDataSize: 'all' }).success).toBe(false);
});

test('the sampling rate can be a text', () => {
  expect(TelemetryConfig.parse({ samplingRate: '0.25' })).toEqual({ samplingRate: 0.25 });
  expect(TelemetryConfig.safeParse({ samplingRate: '5' }).success).toBe(false);
  expect(TelemetryConfig.safeParse({ samplingRate: 'most' }).success).toBe(false);
});
