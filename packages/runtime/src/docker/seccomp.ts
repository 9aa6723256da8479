/** System calls that programs need, by their names on x86-64 and arm64. Names that a processor does not have do nothing. */
const allowedCalls = `
  accept accept4 access alarm arch_prctl bind brk capget capset chdir chmod chown clock_getres
  clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create
  epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit
  exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchown fchownat
  fcntl fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate
  futex futex_waitv futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid
  geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom
  getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr
  inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents
  io_pgetevents io_setup io_submit ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset
  landlock_restrict_self lchown lgetxattr link linkat listen listxattr llistxattr lremovexattr lseek
  lsetxattr lstat madvise membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock
  mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink
  mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap nanosleep newfstatat open openat
  openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl
  pread64 preadv preadv2 prlimit64 process_mrelease pselect6 pwrite64 pwritev pwritev2 read readahead
  readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages removexattr rename renameat
  renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
  rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max
  sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
  sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
  seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list
  set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid
  setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr shmat shmctl shmdt shmget
  shutdown sigaltstack signalfd signalfd4 socketpair splice stat statfs statx symlink symlinkat sync
  sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
  timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask uname unlink
  unlinkat utime utimensat utimes vfork vmsplice wait4 waitid write writev
`
  .trim()
  .split(/\s+/);

/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} of linux/sched.h. */
const NEW_NAMESPACES = 0x7e020000;
const AF_VSOCK = 40;
const ENOSYS = 38;
/** PER_LINUX, PER_LINUX32, both with UNAME26, and the question for the current one. */
const personalities = [0, 8, 0x20000, 0x20008, 0xffffffff];

const allow = (names: readonly string[], ...args: object[]) => ({ names, action: 'SCMP_ACT_ALLOW', args });

/**
 * The system call filter of containers, in the format of Docker. The default filter of engines before version 23
 * lets containers open sockets to the hypervisor (AF_VSOCK), and newer system calls than the engine are decided by
 * its age. Calls that only privileged processes need are left out.
 */
export function seccompProfile(): string {
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    archMap: [
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
    ],
    syscalls: [
      allow(allowedCalls),
      allow(['ioctl']),
      allow(['socket'], { index: 0, value: AF_VSOCK, op: 'SCMP_CMP_NE' }),
      allow(['clone'], { index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }),
      // The flags of clone3 are behind a pointer. C libraries fall back to clone.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS, args: [] },
      ...personalities.map((value) => allow(['personality'], { index: 0, value, op: 'SCMP_CMP_EQ' })),
    ],
  });
}
