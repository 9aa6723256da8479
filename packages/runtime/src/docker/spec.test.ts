import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Launch } from '../runtime.ts';
import { aLaunch } from '../testing/conformance.ts';
import { containerSpec, requireReachable } from './spec.ts';

const image = { kind: 'image', image: 'example/server:1' } as const;
const http = { transport: { kind: 'http', targetPort: 8080 }, network: { kind: 'open' } } as const;

test('gives a server the launch and nothing else', () => {
  const launch = aLaunch(image, {
    env: { KEY: 'value' },
    labels: { 'toolhive-group': 'default', toolhive: 'no' },
  });

  expect(spec(launch)).toMatchInlineSnapshot(`
    {
      "AttachStderr": true,
      "AttachStdin": true,
      "AttachStdout": true,
      "Cmd": [
        "echo",
      ],
      "Env": [
        "KEY=value",
      ],
      "HostConfig": {
        "AutoRemove": false,
        "CapDrop": [
          "ALL",
        ],
        "CpuPeriod": 100000,
        "CpuQuota": 100000,
        "Init": true,
        "LogConfig": {
          "Config": {},
          "Type": "none",
        },
        "Memory": 536870912,
        "MemorySwap": 536870912,
        "Mounts": [],
        "NetworkMode": "none",
        "PidsLimit": 64,
        "ReadonlyRootfs": true,
        "RestartPolicy": {
          "Name": "no",
        },
        "SecurityOpt": [
          "no-new-privileges",
          "seccomp={"defaultAction":"SCMP_ACT_ERRNO","archMap":[{"architecture":"SCMP_ARCH_X86_64","subArchitectures":["SCMP_ARCH_X86","SCMP_ARCH_X32"]},{"architecture":"SCMP_ARCH_AARCH64","subArchitectures":["SCMP_ARCH_ARM"]}],"syscalls":[{"names":["accept","accept4","access","alarm","arch_prctl","bind","brk","capget","capset","chdir","chmod","chown","clock_getres","clock_gettime","clock_nanosleep","close","close_range","connect","copy_file_range","creat","dup","dup2","dup3","epoll_create","epoll_create1","epoll_ctl","epoll_pwait","epoll_pwait2","epoll_wait","eventfd","eventfd2","execve","execveat","exit","exit_group","faccessat","faccessat2","fadvise64","fallocate","fanotify_mark","fchdir","fchmod","fchmodat","fchown","fchownat","fcntl","fdatasync","fgetxattr","flistxattr","flock","fork","fremovexattr","fsetxattr","fstat","fstatfs","fsync","ftruncate","futex","futex_waitv","futimesat","get_robust_list","get_thread_area","getcpu","getcwd","getdents","getdents64","getegid","geteuid","getgid","getgroups","getitimer","getpeername","getpgid","getpgrp","getpid","getppid","getpriority","getrandom","getresgid","getresuid","getrlimit","getrusage","getsid","getsockname","getsockopt","gettid","gettimeofday","getuid","getxattr","inotify_add_watch","inotify_init","inotify_init1","inotify_rm_watch","io_cancel","io_destroy","io_getevents","io_pgetevents","io_setup","io_submit","ioprio_get","ioprio_set","kill","landlock_add_rule","landlock_create_ruleset","landlock_restrict_self","lchown","lgetxattr","link","linkat","listen","listxattr","llistxattr","lremovexattr","lseek","lsetxattr","lstat","madvise","membarrier","memfd_create","memfd_secret","mincore","mkdir","mkdirat","mknod","mknodat","mlock","mlock2","mlockall","mmap","mprotect","mq_getsetattr","mq_notify","mq_open","mq_timedreceive","mq_timedsend","mq_unlink","mremap","msgctl","msgget","msgrcv","msgsnd","msync","munlock","munlockall","munmap","nanosleep","newfstatat","open","openat","openat2","pause","pidfd_open","pidfd_send_signal","pipe","pipe2","pkey_alloc","pkey_free","pkey_mprotect","poll","ppoll","prctl","pread64","preadv","preadv2","prlimit64","process_mrelease","pselect6","pwrite64","pwritev","pwritev2","read","readahead","readlink","readlinkat","readv","recvfrom","recvmmsg","recvmsg","remap_file_pages","removexattr","rename","renameat","renameat2","restart_syscall","rmdir","rseq","rt_sigaction","rt_sigpending","rt_sigprocmask","rt_sigqueueinfo","rt_sigreturn","rt_sigsuspend","rt_sigtimedwait","rt_tgsigqueueinfo","sched_get_priority_max","sched_get_priority_min","sched_getaffinity","sched_getattr","sched_getparam","sched_getscheduler","sched_rr_get_interval","sched_setaffinity","sched_setattr","sched_setparam","sched_setscheduler","sched_yield","seccomp","select","semctl","semget","semop","semtimedop","sendfile","sendmmsg","sendmsg","sendto","set_robust_list","set_thread_area","set_tid_address","setfsgid","setfsuid","setgid","setgroups","setitimer","setpgid","setpriority","setregid","setresgid","setresuid","setreuid","setrlimit","setsid","setsockopt","setuid","setxattr","shmat","shmctl","shmdt","shmget","shutdown","sigaltstack","signalfd","signalfd4","socketpair","splice","stat","statfs","statx","symlink","symlinkat","sync","sync_file_range","syncfs","sysinfo","tee","tgkill","time","timer_create","timer_delete","timer_getoverrun","timer_gettime","timer_settime","timerfd_create","timerfd_gettime","timerfd_settime","times","tkill","truncate","umask","uname","unlink","unlinkat","utime","utimensat","utimes","vfork","vmsplice","wait4","waitid","write","writev"],"action":"SCMP_ACT_ALLOW","args":[]},{"names":["ioctl"],"action":"SCMP_ACT_ALLOW","args":[]},{"names":["socket"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":40,"op":"SCMP_CMP_NE"}]},{"names":["clone"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":2114060288,"valueTwo":0,"op":"SCMP_CMP_MASKED_EQ"}]},{"names":["clone3"],"action":"SCMP_ACT_ERRNO","errnoRet":38,"args":[]},{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":0,"op":"SCMP_CMP_EQ"}]},{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":8,"op":"SCMP_CMP_EQ"}]},{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":131072,"op":"SCMP_CMP_EQ"}]},{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":131080,"op":"SCMP_CMP_EQ"}]},{"names":["personality"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":4294967295,"op":"SCMP_CMP_EQ"}]}]}",
        ],
        "Tmpfs": {
          "/run": "rw,noexec,nosuid,nodev,mode=1777,size=16m",
          "/tmp": "rw,exec,nosuid,nodev,mode=1777,size=67108864",
        },
        "Ulimits": [
          {
            "Hard": 1024,
            "Name": "nofile",
            "Soft": 1024,
          },
        ],
      },
      "Image": "example/server:1",
      "Labels": {
        "toolhive": "true",
        "toolhive-basename": "test-server",
        "toolhive-group": "default",
        "toolhive-hive": "daemon-1",
        "toolhive-name": "test-server",
        "toolhive-network-isolation": "true",
        "toolhive-tool-type": "mcp",
        "toolhive-transport": "stdio",
      },
      "OpenStdin": true,
      "StdinOnce": true,
      "Tty": false,
    }
  `);
});

describe('a server that speaks HTTP', () => {
  test('is published on loopback alone, and told to listen where that leads', () => {
    const given = spec(aLaunch(image, { ...http, env: { MCP_HOST: '127.0.0.1' } }));

    expect(given.Env).toEqual(['MCP_HOST=0.0.0.0']);
    expect(given.HostConfig.PortBindings).toEqual({ '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] });
  });

  test('stays on loopback on the network of the host', () => {
    const network = { kind: 'mode', mode: 'host' } as const;

    const given = spec(aLaunch(image, { ...http, network, env: { MCP_HOST: '127.0.0.1' } }));

    expect(given.Env).toEqual(['MCP_HOST=127.0.0.1']);
    expect(given.HostConfig.PortBindings).toBeUndefined();
  });

  test.each([
    { kind: 'none' },
    { kind: 'mode', mode: 'none' },
    { kind: 'mode', mode: 'container:other' },
  ] as const)('is refused where it could not be reached: %o', (network) => {
    const launch = aLaunch(image, { ...http, network });

    expect(() => requireReachable(launch)).toThrow(/cannot be reached with the network mode/);
  });
});

test('drops the hardening for a privileged server, but not its limits', () => {
  const { HostConfig } = spec(aLaunch(image, { privileged: true }));

  expect(HostConfig).toMatchObject({ Privileged: true, PidsLimit: 64 });
  expect(HostConfig).not.toHaveProperty('CapDrop');
  expect(HostConfig).not.toHaveProperty('ReadonlyRootfs');
});

test('tells Podman the two limits that it will not start without', () => {
  const { HostConfig } = spec(aLaunch(image), 'podman');

  expect(HostConfig.Ulimits.map(({ Name }) => Name)).toEqual(['nofile', 'nproc']);
});

const Spec = z.looseObject({
  Env: z.array(z.string()),
  HostConfig: z.looseObject({
    PortBindings: z.unknown().optional(),
    Ulimits: z.array(z.looseObject({ Name: z.string() })),
  }),
});

function spec(launch: Launch, engine: 'docker' | 'podman' = 'docker'): z.infer<typeof Spec> {
  const blueprint = {
    launch,
    image: image.image,
    name: launch.workload,
    daemonId: 'daemon-1',
    engine,
    init: true,
    volumes: [],
  };
  return Spec.parse(containerSpec(blueprint));
}
